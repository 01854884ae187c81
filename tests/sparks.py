"""A Spark cluster for tests, on one machine: a master and two workers that take themselves for different hosts.

Spark runs a copy of a task that dawdles on another host only, and tasks of its plain local mode never.
"""

import os
import time

from diurnal.readings.engines.spark.session import find_java, make_session, quiet

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java that runs for a minute or two."""

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.executor.memory": "700m",
    "spark.sql.shuffle.partitions": "2",
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.multiplier": "2",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "3s",
}


def cluster_session(folder, patch):
    """A session on a cluster of its own, whose files are in a folder.

    Raises:
        InputError: Spark or Java is not there.
    """
    patch.setenv("JAVA_HOME", str(find_java()))
    patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with quiet():
        from pyspark import SparkConf, SparkContext

        driver = {"spark.driver.memory": "900m", "spark.driver.extraJavaOptions": QUICK}
        SparkContext._ensure_initialized(conf=SparkConf().setAll(driver.items()))
    gateway, java = SparkContext._gateway, SparkContext._jvm
    settings = java.org.apache.spark.SparkConf().set("spark.master.rest.enabled", "false")
    deploy, option = java.org.apache.spark.deploy, java.scala.Option
    started = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, settings)
    address = f"spark://127.0.0.1:{started._1().address().port()}"
    masters = gateway.new_array(java.String, 1)
    masters[0] = address
    for number, host in enumerate(("127.0.0.2", "127.0.0.3"), start=1):
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, 1, 900, masters, str(folder), option.apply(number), settings, option.empty()
        )
    places = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    return make_session(address, {**SETTINGS, **places})


def stumble_once(flag, seconds):
    """Something that, the first time it is done in whatever process, kills the process, or takes long."""

    # Within another function: tasks cannot import this file, and get functions like this one as they are.
    def stumble():
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        if not seconds:
            os._exit(1)
        time.sleep(seconds)

    return stumble
