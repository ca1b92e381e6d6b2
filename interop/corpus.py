"""Real skills that pass `prowess check`, each name once, in a folder of their own for other people's clients.

usage: corpus.py PROWESS CORPUS.tar.zst FOLDER [NUMBER]
"""

import json
import pathlib
import shutil
import subprocess
import sys

prowess, packed, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# Some are for users alone, and some are withheld from strict clients: these leave more than 500 on the list.
number = int(sys.argv[4]) if len(sys.argv) > 4 else 560

raw = folder.with_name(folder.name + "-raw")
for place in (raw, folder):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
subprocess.run(["tar", "--zstd", "-xf", packed, "-C", raw], check=True)
checked = json.loads(subprocess.run([prowess, "check", "--json", raw], stdout=subprocess.PIPE).stdout)
for file in checked["files"]:
    if any(problem["severity"] == "error" for problem in file["problems"]):
        continue
    skill = pathlib.Path(file["path"]).parent
    if not (folder / skill.name).exists():
        shutil.copytree(skill, folder / skill.name)
shutil.rmtree(raw)
# Taken evenly from the whole alphabet.
names = sorted(path.name for path in folder.iterdir())
if len(names) < number:
    sys.exit(f"only {len(names)} skills of the corpus pass")
step = len(names) / number
keep = {names[int(at * step)] for at in range(number)}
for name in names:
    if name not in keep:
        shutil.rmtree(folder / name)
print(f"{len(keep)} of {len(names)} skills that pass")
