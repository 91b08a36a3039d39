"""How the pages look: one style for all of them, light and dark, for a phone as for a desk."""

# No font, picture or sheet from elsewhere. Muted text keeps a contrast of 4.5 to 1 on every ground it stands on.
STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2733; --dim: #526170; --line: #d5dbe1; --card: #f6f8fa; --mark:
#ffe2a8; --bad: #b3261e; --warn: #8a5300; --hint: #2b5e9e; --add: #dff3e3; --del: #fde6e4; --link: #1558a8; --train:
#cfe3f7; --serve: #fbe0bd; --both: #d9ecc9; --clash: #f6c9c9; --idle: #e8ecf0 } @media (prefers-color-scheme: dark) {
:root { --bg: #11161c; --fg: #dde5ec; --dim: #9dacbb; --line: #33404d; --card: #19212a; --mark: #5c4712; --bad:
#ff8a80; --warn: #f2b66d; --hint: #8fbcf0; --add: #173a22; --del: #4a1f1d; --link: #8fbcf0; --train: #1d3f60; --serve:
#573a14; --both: #2f4a20; --clash: #6b2424; --idle: #2a343e } } * { box-sizing: border-box } body { font: 15px/1.5
system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--fg); background: var(--bg);
overflow-wrap: anywhere } h1 { font-size: 1.4rem; margin: .5rem 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem } h3
{ font-size: 1rem; margin: 1rem 0 .3rem } p { margin: .4rem 0 } a { color: var(--link) } code, pre, .where { font:
13px/1.5 ui-monospace, monospace } pre { overflow-x: auto; margin: .4rem 0; overflow-wrap: normal } .where, .dim, dt,
footer { color: var(--dim) } footer { margin-top: 3rem; font-size: .85rem } [hidden] { display: none } summary {
cursor: pointer; padding: .35rem .2rem } summary:focus-visible, a:focus-visible { outline: 2px solid var(--link) }
.card, details.entry, .cause, .ranks > div { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0;
padding: .2rem .7rem; background: var(--card) } .level { font-weight: 600; white-space: nowrap } .error { color:
var(--bad) } .warning { color: var(--warn) } .info { color: var(--hint) } details.entry > summary .where { display:
block } .finding + .finding { border-top: 1px solid var(--line); margin-top: .6rem; padding-top: .4rem } .code, .diff,
.log { background: var(--bg); border: 1px solid var(--line); border-radius: 4px; padding: .4rem .6rem } .n { color:
var(--dim); user-select: none } mark { background: var(--mark); color: inherit; border-bottom: 2px solid } ins, del {
text-decoration: none; display: inline-block; min-width: 100% } ins { background: var(--add) } del { background:
var(--del) } .related { margin: .3rem 0; padding-left: 1.1rem } form.filter { display: flex; flex-wrap: wrap; gap:
.5rem 1rem; align-items: center; border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; background:
var(--card) } form.filter[hidden] { display: none } form.filter fieldset { border: 0; margin: 0; padding: 0; display:
flex; flex-wrap: wrap; gap: .2rem .8rem } form.filter legend { float: left; padding: 0; margin-right: .6rem;
white-space: nowrap } select, input, button { font: inherit; max-width: 100% } label { display: inline-flex; gap:
.35rem; align-items: center } label select { max-width: 16rem } table { border-collapse: collapse; margin: .5rem 0 }
td, th { text-align: left; vertical-align: top; padding: .15rem .9rem .15rem 0 } th { font-weight: 600 } thead th {
color: var(--dim) } .wide { overflow-x: auto } td { overflow-wrap: anywhere; min-width: 5rem } .hit { background:
var(--del); display: inline-block; min-width: 100% } .cause { border-left: 4px solid var(--warn); padding: .2rem 1rem
} .cause.likely { border-left-color: var(--bad) } .confidence { font-weight: 600 } dl { margin: .5rem 0 } dt {
font-weight: 600; margin-top: .4rem } dd { margin: 0 0 0 1rem } .ranks { display: flex; gap: 1rem; overflow-x: auto }
.ranks > div { flex: 1 0 17rem } .ranks .first { border-color: var(--bad) } .chain { list-style: none; padding: 0 0 0
1.3rem; display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin: .5rem 0 } .chain li { border: 1px solid
var(--line); border-radius: 6px; padding: .3rem .7rem; background: var(--bg); position: relative; max-width: 100% }
.chain li + li::before { content: "→"; position: absolute; left: -1.25rem; top: .5rem; color: var(--dim) } .chain b,
.chain a, .chain .where, .gpu b, .gpu span { display: block } .chain .missing { border: 2px dashed var(--bad) } .gpus
{ list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap:
.4rem; margin: .4rem 0 } .gpu { border-radius: 6px; padding: .3rem .6rem; background: var(--idle); font-size: .85rem }
.gpu.trainer { background: var(--train) } .gpu.server, .gpu.vLLM { background: var(--serve) } .gpu.both { background:
var(--both) } .gpu.overlap { background: var(--clash); outline: 2px solid var(--bad) } .other { background:
var(--mark) } .values th { font: 13px/1.5 ui-monospace, monospace } tr:target, li:target { background: var(--mark) }
@media (max-width: 40rem) { .values thead { display: none } .values tr, .values th, .values td { display: block;
padding: 0 } .values tr { border-bottom: 1px solid var(--line); padding: .3rem 0 } .values
td:nth-child(3):not(:empty)::before { content: "default "; color: var(--dim) } }
"""
