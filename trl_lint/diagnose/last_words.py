"""Lines with which a program, a launcher or a scheduler ends without a traceback."""

from __future__ import annotations

import re
from typing import Literal

from trl_lint.regexes import regex

# What kills from outside tells the cause even where the programs that died of it print tracebacks.
_OUTSIDE = regex(
    r"""
    ^(?:slurmstepd(?:-[\w.-]{1,80})?|srun|sbatch):[ ]error:[ ].*(?:Task[ ]launch[ ]for
        |CANCELLED[ ]AT|oom.kill|DUE[ ]TO|Out[ ]Of[ ]Memory
        |Node[ ]failure|Unable[ ]to|Invalid|not[ ]available|execve\(\)|(?:Job|Step)[ ]\S+[ ]exceeded[ ]|Exceeded[ ])
    | \bOOMKilled\b | The[ ]node[ ]was[ ]low[ ]on[ ]resource | [Mm]emory[ ]cgroup[ ]out[ ]of[ ]memory
    | Out[ ]of[ ]memory:[ ]Kill(?:ed)?[ ]process | oom-kill(?:er)?:
    | NCCL[ ]WARN[ ](?:\S+[ ]:[ ]|\S+[ ])?(?:Connect[ ]to[ ]|Call[ ]to[ ]ibv_|Could[ ]not[ ]find[ ]NET)
    | NVRM:[ ]Xid | Unable[ ]to[ ]determine[ ]the[ ]device[ ]handle[ ]for
    | Container[ ]Killed[ ]since[ ]it[ ]exceeded | is[ ]running[ ]beyond[ ](?:physical|virtual)[ ]memory[ ]limits
    | killed[ ]due[ ]to[ ](?:memory[ ]pressure|the[ ]node[ ]running[ ]low[ ]on[ ]memory)
    """,
    re.VERBOSE,
)
_ENDS = regex(
    r"""
    (?P<argparse>[\w./-]+:[ ]error:[ ](?:argument|unrecognized|the[ ]following|ambiguous|invalid|expected|one[ ]of
        |No[ ]such)[ ]?.*)
    | (?P<shell>(?:-?(?:ba|z|da)?sh|/\S+|[\w./-]+\.(?:sh|slurm|sbatch|bash)|slurm_script)
        (?::[ ](?:line[ ])?\d+)?:[ ].{1,300}?:[ ](?:command[ ]not[ ]found|not[ ]found
        |No[ ]such[ ]file[ ]or[ ]directory|Permission[ ]denied
        |syntax[ ]error.*|unbound[ ]variable))
    | (?P<python>\S*python[\d.]*:[ ](?:can't[ ]open[ ]file|No[ ]module[ ]named|Error[ ]while[ ]finding).*)
    | (?P<killed>(?:.*:[ ]line[ ]\d+:[ ]+\d+[ ])?
        (?:Killed|Segmentation[ ]fault|Bus[ ]error|Aborted|Illegal[ ]instruction|Terminated|Hangup)
        (?:[ ]+\(core[ ]dumped\))?(?:[ ]+.{0,300})?)
    | (?P<fatal>Fatal[ ]Python[ ]error:.*)
    | (?P<container>FATAL:[ ]{1,6}(?:container|could[ ]not|while|unable|failed|stat|image|exec|no[ ]such).*
        |docker:[ ]Error[ ]response[ ]from[ ]daemon.*|(?:\[ERROR\][ ])?(?:pyxis|enroot\S{0,20}):[ ].*)
    | (?P<pip>(?:ERROR:[ ])?(?:Cannot[ ]install[ ].{1,150}because.{1,150}conflicting|ResolutionImpossible.*
        |Could[ ]not[ ]find[ ]a[ ]version[ ]that[ ]satisfies.*|No[ ]matching[ ]distribution[ ]found.*
        |Failed[ ]building[ ]wheel[ ]for.*|Could[ ]not[ ]build[ ]wheels[ ]for.*))
    | (?P<uv>\s*(?:×|x)[ ]No[ ]solution[ ]found.*|error:[ ]Failed[ ]to[ ](?:build|download|fetch).*)
    | (?P<hydra>Could[ ]not[ ](?:override|append[ ]to[ ]config|delete[ ]from[ ]config).*|Missing[ ]mandatory[ ]value.*
        |In[ ]'[^']+':[ ]Could[ ]not[ ]find[ ].*|mismatched[ ]input[ ].*expecting.*|Error[ ]merging[ ]override.*
        |Cannot[ ]find[ ]primary[ ]config.*|Multiple[ ]values[ ]for[ ].*|You[ ]must[ ]specify[ ].*)
    | (?P<terminate>terminate[ ]called[ ]after[ ]throwing.*)
    | (?P<compiler>\S+:\d+:\d+:[ ]fatal[ ]error:[ ].*|nvcc[ ]fatal[ ].*)
    | (?P<slurm>s(?:run|batch|alloc):[ ](?:error|fatal):[ ].{0,80}(?:[Mm]unge|authentication[ ]error
        |fetch_config|resolve_ctls|[Ee]stablish[ ](?:a[ ])?config
        |[Uu]nable[ ]to[ ]|[Rr]equested[ ]|satisfied|violates|[Ss]ubmission[ ]failed).*)
    | (?P<cudasetup>CUDA[ ]SETUP:[ ](?:Setup[ ]Failed|Required[ ]library[ ]version[ ]not[ ]found
        |CUDA[ ]detection[ ]failed|Something[ ]unexpected[ ]happened).*)
    | (?P<rayworker>A[ ]worker[ ]died[ ]or[ ]was[ ]killed.*)
    """,
    re.VERBOSE,
)
_REPORTS = regex(
    r"""
    Watchdog[ ]caught[ ]collective[ ]operation[ ]timeout
    | taking[ ]the[ ]entire[ ]process[ ]down
    | NCCL[ ]WARN[ ](?:\[[^\]]{0,60}\][ ]|\S+[ ]:[ ]|\S+[ ])?(?:Duplicate[ ]GPU|Cuda[ ]failure|Connect[ ]to[ ]
        |Call[ ]to[ ]ibv_|Bootstrap[ ]Root|Could[ ]not[ ]find[ ]NET|Got[ ]completion[ ]|[Nn]o[ ]socket[ ]interface
        |Error[ ]while[ ]creating[ ]shared[ ]memory|Connection[ ]closed|Proxy[ ]Call[ ]to|Failed[ ]to[ ]execute)
    | ^OMP:[ ]Error[ ]\#\d+
    | ^Failed[ ]to[ ]initialize[ ]NVML: | could[ ]not[ ]select[ ]device[ ]driver
    | Failed[ ]to[ ]connect[ ]to[ ]GCS | ^Memory[ ]on[ ]the[ ]node[ ]
    | ^error:[ ]The[ ]actor[ ]is[ ]dead
    | [Aa]ddress[ ]already[ ]in[ ]use
    | error[ ]<class[ ]'pyarrow\.lib\.\w+'>:
    | failed[ ]\(exitcode:[ ]-\d+\)|exits[ ]with[ ]return[ ]code[ ]=[ ]-\d+
    | exitcode[ ]{0,9}:?[ ]{1,9}-\d|Signal[ ]\d+[ ]\(SIG\w+\)[ ]received|[Ee]xit[ ][Cc]ode:?[ ]{1,9}13[479]\b
    | Received[ ](?:\d{1,2}|Signals\.SIG\w{3,4})[ ]death[ ]signal,[ ]shutting[ ]down
    | [Rr]eceived[ ](?:signal[ ])?SIG(?:TERM|HUP|KILL|INT)|exited[ ]with[ ]signal[ ]\d+
    """,
    re.VERBOSE,
)
# Lines about something that is tried again: they tell the cause only where nothing else ends the log.
_RETRIES = regex(
    r"""
    [Ss]erver[ ]is[ ]not[ ]up[ ]yet
    | thrown[ ]while[ ]requesting[ ](?:HEAD|GET)[ ]https?://
    | ^wandb:[ ]Network[ ]error
    | ,[ ]but[ ]you[ ]have[ ].{1,80}[ ]which[ ]is[ ]incompatible
    | Unable[ ]to[ ]locate[ ]a[ ]modulefile | ^Lmod[ ]has[ ]detected[ ]the[ ]following[ ]error
    | Could[ ]not[ ]find[ ]conda[ ]environment
    """,
    re.VERBOSE,
)
_SUMMARY = regex(r"FAILED \S{1,600} - (?P<type>[\w.]{0,200}(?:Error|Exception))(?:: (?P<message>.*))?$")

# A line of these expressions has one of these words: most lines have none, and are asked no more.
_WORDS = (
    "error: ", "OOMKilled", "low on resource", "ut of memory", "oom-kill", "NCCL WARN", "Xid", "device handle",
    "killed due", "Watchdog", "entire process", "already in use", "pyarrow", "exit", "Exit", "Signal ", "signal", "SIG",
    "not up yet", "thrown while", "Network error", "to GCS", "on the node", "NVML", "device driver",
    "OMP: Error", "incompatible", "modulefile", "Lmod has", "conda env", "exceeded", "Exceeded",
    "running beyond", "Cuda failure",
)  # fmt: skip

Words = Literal["", "outside", "words", "hint"]


def kind_of_words(text: str) -> Words:
    """What a line is: of what ended the program from outside, other last words, a hint that something is tried again.

    "" if it is none of these.
    """
    is_told = any(word in text for word in _WORDS)
    if is_told and _OUTSIDE.search(text):
        return "outside"
    if _ENDS.match(text) or (is_told and _REPORTS.search(text)):
        return "words"
    return "hint" if is_told and _RETRIES.search(text) else ""


def read_summary(text: str) -> tuple[str, str] | None:
    """Type and message of the exception in a line of pytest's summary, None if it is no such line."""
    match = _SUMMARY.match(text)
    return None if match is None else (match["type"], match["message"] or "")
