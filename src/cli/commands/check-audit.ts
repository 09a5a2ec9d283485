import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { inWords } from '../../core/lines.ts';
import { createTerminal, paint } from '../../output/terminal.ts';
import { type AuditedFile, auditFile, auditRun } from '../../run/history/audit.ts';
import { runIds } from '../../run/history/run-files.ts';
import { type PlaceFlags, projectOf } from '../place.ts';
import { printJson } from '../print.ts';

/** `check --audit`: whether events and audit files of runs are as the runs wrote them. Without a name: of the last run. */
export async function auditCommand(named: readonly string[], flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const all = (await Promise.all((named.length === 0 ? [null] : named).map((one) => audited(one, flags)))).flat();
  if (flags.json)
    printJson(all.map(({ file, lines, broken }) => ({ file, kind: 'audit', lines, ok: broken === null, broken })));
  else print(all);
  if (all.some(({ isUnreadable }) => isUnreadable)) return EXIT.usage;
  return all.every(({ broken }) => broken === null) ? EXIT.ok : EXIT.failed;
}

/** A run by its id, its folder, or a file of it. */
async function audited(named: string | null, flags: PlaceFlags): Promise<AuditedFile[]> {
  const found = named === null ? undefined : statSync(resolve(named), { throwIfNoEntry: false });
  if (named !== null && found?.isDirectory()) return auditRun(resolve(named));
  if (named !== null && found !== undefined) return [await auditFile(resolve(named))];
  const { paths } = await projectOf(flags);
  const known = await runIds(paths);
  const runId = named ?? known[0];
  if (runId === undefined || !known.includes(runId)) throw new AgentosError({ code: 'run-missing', run: named ?? '' });
  return auditRun(paths.run(runId).directory);
}

function print(files: readonly AuditedFile[]): void {
  const terminal = createTerminal();
  for (const { file, lines, broken } of files) {
    const verdict = broken === null ? paint(terminal, 'green', 'whole') : paint(terminal, 'red', 'broken');
    const where = broken === null || broken.line === null ? file : `${file}:${broken.line}`;
    terminal.line(`${where}  ${verdict}  ${broken === null ? `${lines} line(s)` : inWords(broken.reason)}`);
  }
}
