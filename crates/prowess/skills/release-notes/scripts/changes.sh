#!/bin/sh
# Lists the commits between two versions, oldest first, with their bodies and without merges.
# Usage: changes.sh [FROM] [TO]    FROM is the last tag, TO is HEAD by default.
set -eu

to=${2:-HEAD}
if [ $# -ge 1 ]; then
  from=$1
elif from=$(git describe --tags --abbrev=0 "$to" 2>/dev/null); then
  # A tag at TO itself means the release before it is wanted.
  if [ "$(git rev-list -n 1 "$from")" = "$(git rev-list -n 1 "$to")" ]; then
    from=$(git describe --tags --abbrev=0 "$to^" 2>/dev/null) || from=
  fi
else
  from=
fi

if [ -n "$from" ]; then
  printf 'changes from %s to %s\n\n' "$from" "$to"
  git log --reverse --no-merges --format='%h %s%n%w(0,4,4)%b' "$from..$to"
else
  printf 'all changes up to %s (there is no earlier tag)\n\n' "$to"
  git log --reverse --no-merges --format='%h %s%n%w(0,4,4)%b' "$to"
fi
