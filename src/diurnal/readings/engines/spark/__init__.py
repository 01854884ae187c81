"""The Spark engine: kernels over a cluster, with the same numbers to the last bit.

Rows of a Spark frame are buffered, placed and resampled by the very code of a local import, in tasks that hold
whole households; the panel is a Parquet table in the lake, with a row a household. A fold calls the same kernel on
blocks of that table, and whole numbers add up to the same sum in any order. A task may fail and be run again, or
run twice: what it found is in the rows that Spark commits once, and nowhere else.

- `session`: what Spark runs on, and how work is given to it;
- `frame`: a Spark frame as a source of readings, and who and when is in it, from one pass over its rows;
- `sorting`: its rows as readings of whole households, by a second pass;
- `lake`: the panel as a folder, made and opened;
- `folding`: a kernel over it; `homes`: what a kernel makes of each household, kept in the lake;
- `streaming`: rows that keep coming, batch after batch;
- `engine`: all of it, as the rest of the code sees it.
"""
