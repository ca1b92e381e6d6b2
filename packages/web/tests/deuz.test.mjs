// The vocabulary of deuz without Node's own parts.

import * as deuz from '../dist/deuz.js';
import * as prowess from '../dist/index.js';
import { defineDeuzTests } from './deuz-cases.mjs';

await prowess.init();
defineDeuzTests(deuz, prowess);
