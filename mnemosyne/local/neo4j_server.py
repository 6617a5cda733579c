"""Start and stop the real Neo4j Community server of a state folder, without Docker, Maven or a system Java.

The server runs from its Maven jars on 127.0.0.1 only, with HTTP off and a password made at the first start. Its data
stay in ``<state>/neo4j`` until ``reset``.
"""

import secrets
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from neo4j import GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from mnemosyne.local import process
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.java import VECTOR_MODULE, Java, find_java
from mnemosyne.local.progress import Clock, Progress
from mnemosyne.local.state import Neo4jService, make_private_dir, write_private

PORT = 7687
USER = "neo4j"
START_SECONDS = 240.0  # 8 to 10 where the machine is idle; far more beside a test suite
STOP_SECONDS = 60.0
ADMIN_SECONDS = 120.0
PORT_TRIES = 3
IN_USE = ("Address already in use", "PortBindException")

# Sized for a laptop: the defaults take half of the memory, and preallocate 256 MB of log for every database. The quiet
# period is how long Bolt waits at the end for clients that might still come: 10 s of every stop.
CONFIGURATION = """\
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size={page_cache}
db.tx_log.preallocate=false
db.tx_log.rotation.size=64M
db.tx_log.rotation.retention_policy=keep_none
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
dbms.usage_report.enabled=false
dbms.fleet_manager.enabled=false
server.fleet_discovery.enabled=false
client.allow_telemetry=false
dbms.security.auth_enabled=true
"""

JVM_OPTIONS = (
    "-XX:+UseG1GC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "--enable-native-access=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dfile.encoding=UTF-8",
)


class Neo4jServer:
    """The server of one state folder. Call under the state folder's lock."""

    def __init__(self, state_dir: Path, heap: str = "1g", page_cache: str = "512m") -> None:
        self._home = state_dir.resolve() / "neo4j"
        self._record = state_dir / "neo4j.pid.json"
        self._password_file = state_dir / "neo4j.password"
        self._log = self._home / "logs" / "console.log"
        self._heap = heap
        self._page_cache = page_cache
        self._mark = f"--home-dir={self._home}"

    def start(self, jars: Sequence[Path], progress: Progress, java: Java | None = None) -> Neo4jService:
        """Start the server, or find it running; returns when Bolt has answered."""
        found = process.running(self._record, self._mark)
        if found is not None:
            pid, port = found
            self._wait(pid, port, progress)
            return self._service(pid, port, java)
        self.stop(progress)  # one left behind by a start that was cut short would hold the data
        java = find_java() if java is None else java
        self._prepare(java, jars, progress)
        for attempt in range(1, PORT_TRIES + 1):
            try:
                return self._start_once(java, progress)
            except _PortTaken:  # another server took it between our look and Neo4j's
                if attempt == PORT_TRIES:
                    raise
        raise AssertionError("unreachable")

    def stop(self, progress: Progress) -> bool:
        """Stop the server and wait until it is gone; False when it was not running."""
        return process.stop(self._record, self._mark, "Neo4j", STOP_SECONDS, progress)

    def pid(self) -> int | None:
        """The process id while it runs."""
        found = process.running(self._record, self._mark)
        return None if found is None else found[0]

    def _prepare(self, java: Java, jars: Sequence[Path], progress: Progress) -> None:
        """Folders, class path and, before the first start, the password."""
        for folder in (self._home, self._home / "conf", self._home / "logs"):
            make_private_dir(folder)
        class_path = ":".join(str(jar) for jar in jars)
        escaped = class_path.replace("\\", "\\\\").replace('"', '\\"')
        (self._home / "java.args").write_text(f'-cp "{escaped}"\n', encoding="utf-8")
        first = not (self._home / "data" / "databases").exists()
        if first:
            self._set_password(java, progress)
        elif not self._password_file.exists():
            raise LocalStackError(
                f"The password of the Neo4j data in {self._home} is missing: {self._password_file} is gone.",
                "Delete the local data and start over: python -m mnemosyne.local reset",
            )

    def _set_password(self, java: Java, progress: Progress) -> None:
        # Hexadecimal: one that began with a dash would be read as an option.
        password = secrets.token_hex(24)
        progress.say("Setting up a new Neo4j with a password of its own")
        command = [
            str(java.path),
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            f"@{self._home / 'java.args'}",
            "org.neo4j.server.startup.Neo4jAdminCommand",
            "dbms",
            "set-initial-password",
            password,
        ]
        (self._home / "conf" / "neo4j.conf").write_text(self._configuration(PORT), encoding="utf-8")
        environment = {"NEO4J_HOME": str(self._home), "NEO4J_CONF": str(self._home / "conf")}
        try:
            done = subprocess.run(  # noqa: S603 - our own command
                command, env=environment, capture_output=True, text=True, timeout=ADMIN_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LocalStackError(f"{java.path} could not be run: {type(error).__name__}.") from error
        if done.returncode != 0:
            raise LocalStackError(
                f"Neo4j did not accept an initial password:\n{(done.stdout + done.stderr).strip()[-1500:]}",
                "Delete the local data and start over: python -m mnemosyne.local reset",
            )
        write_private(self._password_file, password + "\n")

    def _start_once(self, java: Java, progress: Progress) -> Neo4jService:
        port = process.free_port(PORT)
        (self._home / "conf" / "neo4j.conf").write_text(self._configuration(port), encoding="utf-8")
        self._log.unlink(missing_ok=True)  # one start a log; Neo4j's own logs are kept beside it
        modules = ["--add-modules", VECTOR_MODULE] if java.has_vector_module else []
        command = [
            str(java.path),
            f"-Xmx{self._heap}",
            *JVM_OPTIONS,
            *modules,
            f"@{self._home / 'java.args'}",
            "org.neo4j.server.Neo4jCommunity",
            self._mark,
            f"--config-dir={self._home / 'conf'}",
        ]
        pid = process.spawn(command, self._mark, self._record, self._log, port)
        try:
            self._wait(pid, port, progress)
        except BaseException:  # also when interrupted from the keyboard: leave no half-started server
            process.stop(self._record, self._mark, "Neo4j", STOP_SECONDS, progress)
            raise
        return self._service(pid, port, java)

    def _wait(self, pid: int, port: int, progress: Progress) -> None:
        """Until Bolt has answered a query."""
        with progress.waiting(f"Starting Neo4j on port {port}") as clock:
            while not (process.listens(pid, port) and self._answers(port)):
                self._check_alive(pid, clock)
                clock.tick()
                time.sleep(0.2)

    def _check_alive(self, pid: int, clock: Clock) -> None:
        if not process.is_ours(pid, self._mark):
            shown = process.tail(self._log)
            error = _PortTaken if any(words in shown for words in IN_USE) else LocalStackError
            raise error(
                f"Neo4j ended while it was starting. The end of {self._log}:\n{shown}",
                "If its data are damaged, delete them and start over: python -m mnemosyne.local reset",
            )
        if clock.seconds > START_SECONDS:
            raise LocalStackError(
                f"Neo4j has not answered on Bolt within {START_SECONDS:.0f} s. The end of {self._log}:\n"
                f"{process.tail(self._log)}",
                "Free some memory or processor time and run the command again.",
            )

    def _answers(self, port: int) -> bool:
        url = f"bolt://{process.HOST}:{port}"
        with GraphDatabase.driver(url, auth=(USER, self._password()), connection_timeout=2.0) as driver:
            try:
                with driver.session(database="neo4j") as session:
                    session.run("RETURN 1").consume()
            except AuthError as error:
                raise LocalStackError(
                    f"Neo4j on port {port} refuses the password in {self._password_file}.",
                    "Delete the local data and start over: python -m mnemosyne.local reset",
                ) from error
            except (DriverError, Neo4jError, OSError):
                return False
        return True

    def _service(self, pid: int, port: int, java: Java | None) -> Neo4jService:
        return Neo4jService(
            url=f"bolt://{process.HOST}:{port}",
            user=USER,
            password=self._password(),
            pid=pid,
            port=port,
            home=str(self._home),
            java=str(java.path) if java is not None else "",
        )

    def _password(self) -> str:
        return self._password_file.read_text(encoding="utf-8").strip()

    def _configuration(self, port: int) -> str:
        return CONFIGURATION.format(port=port, page_cache=self._page_cache)


class _PortTaken(LocalStackError):
    """The port was free when we looked and taken when Neo4j did."""
