// What holds of every JavaScript package, over the installed one.

import * as prowess from 'prowess';
import * as deuz from 'prowess/deuz';

import { defineApiTests } from '../../web/tests/api-cases.mjs';
import { defineCallbackTests } from '../../web/tests/callback-cases.mjs';
import { defineChatTests } from '../../web/tests/chat-cases.mjs';
import { defineDeuzTests } from '../../web/tests/deuz-cases.mjs';

defineApiTests(prowess, 'prowess');
defineCallbackTests(prowess);
defineChatTests(prowess);
defineDeuzTests(deuz, prowess);
