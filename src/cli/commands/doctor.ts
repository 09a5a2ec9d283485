import { type Problem, toErrorRecord } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { VENDORS } from '../../core/keys.ts';
import { proxyVariables } from '../../core/proxy.ts';
import { wordingOf } from '../../core/wording.ts';
import { vendorBaseUrl } from '../../models/base-url.ts';
import { tryKey } from '../../models/try-key.ts';
import { createVendorAgents, trustCertificates } from '../../models/vendor-agents.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import type { Project } from '../../run/project.ts';
import { type PlaceFlags, projectOf } from '../request.ts';
import { type Check, checkImplementing, checkProject } from './doctor-checks.ts';

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'note'], bad: ['red', 'BAD '] } as const;

export async function doctorCommand(flags: PlaceFlags & { json?: boolean; keys?: boolean }): Promise<number> {
  const { repo, baseDir, config } = flags;
  const checks = await checkProject({ cwd: process.cwd(), env: process.env, repo, baseDir, config, flags: {} });
  const project = await projectOf(flags).catch(() => null);
  const network = project === null ? [] : checkNetwork(project);
  const implementing = project === null ? [] : await checkImplementing(project);
  checks.push(...network, ...implementing);
  if (flags.keys && project !== null) checks.push(...(await checkKeys(project)));
  const rows = checks.map(inWords);
  const healthy = rows.every((row) => row.state !== 'bad');
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ healthy, checks: rows }, null, 2)}\n`);
    return healthy ? EXIT.ok : EXIT.failed;
  }
  const terminal = createTerminal(process.stdout, process.env, (text) => text);
  for (const { name, state, detail, todo } of rows) {
    const [style, mark] = MARKS[state];
    terminal.line(`${paint(terminal, style, mark)}  ${name.padEnd(14)}  ${printable(detail)}`);
    if (todo) terminal.line(`      ${' '.repeat(14)}  ${printable(todo)}`);
  }
  const obstacle = implementing.find(({ state }) => state !== 'ok');
  const ready = obstacle === undefined ? 'Ready. Try: agentos lld --all' : notReady(inWords(obstacle));
  terminal.line(healthy ? printable(ready) : advice(rows));
  return healthy ? EXIT.ok : EXIT.failed;
}

interface Row {
  name: string;
  state: Check['state'];
  detail: string;
  todo: string | null;
}

function inWords({ name, state, found, todo }: Check): Row {
  if (typeof found === 'string') return { name, state, detail: found, todo };
  const { message, hint } = wordingOf(found);
  return { name, state, detail: message, todo: hint };
}

/** Designs need neither tests nor a set-up. */
function notReady({ name, detail }: Row): string {
  return `agentos implement is not ready: ${name}: ${detail.replace(/\.$/, '')}. Designs can be made: agentos lld --all`;
}

/** Addresses that can't be right, whether they are needed or not. */
function checkNetwork({ config: { endpoints }, env }: Project): Check[] {
  const found = [
    problemWith(() => proxyVariables(env)),
    ...VENDORS.filter((vendor) => endpoints[vendor] !== undefined).map((vendor) =>
      problemWith(() => vendorBaseUrl(vendor, endpoints[vendor])),
    ),
  ];
  return found
    .filter((problem) => problem !== null)
    .map((problem) => ({ name: 'network', state: 'bad', found: problem, todo: null }));
}

function problemWith(read: () => unknown): Problem | null {
  try {
    read();
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}

/** One cheap call per key, all at the same time. */
async function checkKeys({ config: { keys, endpoints }, env }: Project): Promise<Check[]> {
  if (keys.length === 0) return [{ name: 'keys', state: 'warn', found: 'none to try', todo: null }];
  const distrust = trustCertificates(env);
  const notes: Check[] =
    distrust === null ? [] : [{ name: 'certificates', state: 'warn', found: distrust, todo: null }];
  if (problemWith(() => proxyVariables(env)) !== null) return notes;
  const agents = createVendorAgents(env);
  const tried = await Promise.all(
    keys.map(async (key): Promise<Check> => {
      const failure = await tryKey(key, { endpoint: endpoints[key.vendor], agents });
      return { name: key.id, state: failure === null ? 'ok' : 'bad', found: failure?.problem ?? 'works', todo: null };
    }),
  );
  return [...notes, ...tried];
}

/** Without keys there is still the tour; whatever else is missing, it needs too. */
function advice(rows: readonly Row[]): string {
  const onlyModels = rows.every(
    ({ name, state }) => state !== 'bad' || name === 'drafter' || name === 'reviewer' || name === 'implementer',
  );
  return onlyModels
    ? 'Fix what is marked BAD, then run agentos doctor again. agentos demo needs no key.'
    : 'Fix what is marked BAD, then run agentos doctor again.';
}
