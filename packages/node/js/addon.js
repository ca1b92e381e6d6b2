// The addon for this system: the one that was built here, or the one of the package for the system.

import { ProwessError } from './errors.js';
import { system } from './system.js';

function load() {
  const name = system();
  const failures = [];
  for (const place of [`./prowess.${name}.node`, `prowess-${name}`]) {
    try {
      return require(place);
    } catch (error) {
      if (error?.code !== 'MODULE_NOT_FOUND') failures.push(error);
    }
  }
  const [cause] = failures;
  const why = cause === undefined
    ? 'install prowess again with its optional packages, or build packages/node on this system'
    : `it cannot be loaded: ${cause.message}`;
  throw new ProwessError(`there is no addon of prowess for ${name}: ${why}`, { code: 'not-ready', cause });
}

export const addon = load();
