"""A process that takes a stream of files by Spark, without noise, and may be killed at any moment.

    python sparkstream.py FOLDER

The folder has a store `city.db`, files that land in `landing/`, and Spark's notes in `checkpoint/`.
"""

import sys
from pathlib import Path

import diurnal as dn
from diurnal.promise import noise
from diurnal.readings.engines.spark.session import make_session
from sparks import QUICK

SCHEMA = "household string, time timestamp_ntz, wh bigint"


def main(folder):
    """Take what is there, and end; a line for each batch."""
    # What is reported without noise tells whether it was reported once; killed processes draw noise of their own.
    noise.cube = lambda ranges, rate: [0] * len(ranges)
    stream = dn.Curator.open(folder / "city.db").streams()[0]
    quick = {"spark.driver.memory": "600m", "spark.driver.extraJavaOptions": QUICK}
    spark = make_session("local[1]", {"spark.local.dir": str(folder), **quick})
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "landing"))
    dn.watch_frame(
        stream, frame, checkpoint=folder / "checkpoint", once=True, minutes=stream.plan.grid.minutes, told=_say
    )


def _say(taken):
    print(taken.name, len(taken.rows), taken.again, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
