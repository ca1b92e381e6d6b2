// The same package by `require` in TypeScript.

import prowess = require('prowess');
import drover = require('prowess/drover');

export async function main(): Promise<string[]> {
  const skills: prowess.Skills = await prowess.Skills.open('./skills');
  const spec: drover.SkillSpec = drover.parseSkillFile('text', 'a/SKILL.md');
  return [...skills.keys(), spec.name];
}
