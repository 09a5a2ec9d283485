import { codeIn, type LldDocument } from '../document.ts';
import { endlessLoops } from './code-loops.ts';
import { boundsKind, hasBound, type LoopKind, type LoopPhrase, loopIn } from './loop-phrases.ts';
import { error, type LldFinding, quote, warning } from './rule.ts';
import { type Statement, statementsIn } from './statements.ts';

const RULE = 'unbounded-loop';
/** Sections in which the design says what it does; context, alternatives, tests and risks speak of other things. */
const DESIGN = ['2', '3', '5', '7', '8'];
const ADVICE = 'name how often or how long at most, and what happens then';

/**
 * Loops, retries, polling and waiting need a bound. One that says itself that it has no end ("retry until it succeeds")
 * needs it right there or in section 8; one that is only mentioned ("retries on a 503") may have it anywhere.
 */
export function checkUnboundedLoops(lld: LldDocument): LldFinding[] {
  const statements = new Map(
    lld.sections.filter(({ id }) => DESIGN.includes(id)).map(({ id, nodes }) => [id, statementsIn(nodes)]),
  );
  const all = [...statements.values()].flat();
  const budget = statements.get('8') ?? [];
  const mitigations = statementsIn(lld.sections.find(({ id }) => id === '11')?.nodes ?? []);

  const prose = all
    .filter(({ from }) => from === 'prose')
    .flatMap((statement) => {
      const loop = loopIn(statement.text);
      if (!loop || hasBound(statement.around, loop.kind)) return [];
      if (isBounded(loop.kind, loop.open ? budget : [...all, ...mitigations], statement)) return [];
      const report = isMereWait(loop) ? warning : error;
      return [report(RULE, statement.line, `${quote(statement.text)} has no bound: ${ADVICE}.`)];
    });
  const code = lld.sections
    .filter(({ id }) => DESIGN.includes(id))
    .flatMap(({ nodes }) => nodes.flatMap((node) => codeIn(node)).flatMap(endlessLoops))
    .map(({ line, text }) =>
      error(RULE, line, `The loop ${quote(text)} never ends: ${ADVICE}, or leave it with a break or return.`),
    );
  return oneByLine([...code, ...prose]);
}

/** "Waits for the child to exit" is no loop and may be bounded by what it waits for: that is for the reviewer to say. */
function isMereWait({ kind, open, text }: LoopPhrase): boolean {
  return kind === 'wait' && !open && !/\b(?:until|till)\b/i.test(text);
}

function isBounded(kind: LoopKind, statements: Statement[], own: Statement): boolean {
  return statements.some((statement) => statement !== own && boundsKind(statement.text, kind));
}

function oneByLine(findings: LldFinding[]): LldFinding[] {
  const lines = new Set<number>();
  return findings.filter(({ line }) => !lines.has(line) && lines.add(line));
}
