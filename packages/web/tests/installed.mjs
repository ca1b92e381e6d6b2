// The installed package, by its name, from an empty folder.

import assert from 'node:assert/strict';

import init, { memorySource, Skills } from 'prowess-web';
import { parseSkill } from 'prowess-web/deuz';

await init();
const text = '---\nname: a\ndescription: About a.\n---\nDo it.\n';
const chat = (await Skills.open(memorySource({ a: text }))).chat();
assert.match((await chat.call('load_skill', { name: 'a' })).text, /Do it\./);
assert.equal(parseSkill(text).manifest.name, 'a');
console.log('the installed package answers a call');
