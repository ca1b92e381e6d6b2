// The types of the vocabulary of `@deuz-sdk/core/skills` with its source over folders.

import type { SkillSource } from './deuz.js';

export * from './deuz.js';

/** A source over folders: each folder directly below one of them that has a SKILL.md is a skill. */
export function nodeSkillSource(dirs: string[]): SkillSource;
