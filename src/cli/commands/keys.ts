import { localTime } from '../../core/duration.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { type KnownKey, knownKeys, parseKeys, readKeysFile } from '../../run/keys-file.ts';
import type { Project } from '../../run/project.ts';
import { withDatabase } from '../at-hub.ts';
import { printJson } from '../print.ts';
import { databaseOf, type PlaceFlags, projectOf } from '../request.ts';

export async function keysCommand(flags: PlaceFlags): Promise<void> {
  const project = databaseOf(flags) === null ? await projectOf(flags) : null;
  const mask = project?.mask;
  const keys = project === null ? await keysAtHub(flags) : await keysHere(project);
  if (flags.json) return printJson({ keys }, mask);
  const terminal = createTerminal(mask);
  if (keys.length === 0)
    terminal.line(
      'No keys. Set ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_API_KEY (…_KEYS for several, with commas).',
    );
  const width = Math.max(...keys.map((key) => key.id.length));
  for (const key of keys) {
    const style = key.state === 'dead' ? 'red' : key.state === 'cooling' ? 'yellow' : 'green';
    const state = key.until ? `${key.state} until ${localTime(key.until)}` : key.state;
    const painted = paint(terminal, style, state.padEnd(10));
    terminal.line(
      `${key.id.padEnd(width)}  ${key.vendor.padEnd(17)}  ${painted}  ${printable(details(key))}`.trimEnd(),
    );
  }
}

function details({ limits, group, reason, seenAt }: KnownKey): string {
  if (seenAt === null) return 'not used here yet';
  const rate = (value: number | null, unit: string): string[] =>
    value === null ? [] : [`${Math.round(value)} ${unit}`];
  const learned = [
    ...rate(limits.requestsPerMinute, 'requests/min'),
    ...rate(limits.tokensPerMinute, 'tokens/min'),
    ...rate(limits.concurrency, 'at once'),
  ];
  const parts = [learned.join(', ') || 'no limits learned', group ? `quota ${group}` : '', reason ?? ''];
  return `${parts.filter(Boolean).join('; ')} (seen ${localTime(seenAt)})`;
}

async function keysHere({ config, paths }: Project): Promise<KnownKey[]> {
  return knownKeys(config.keys, await readKeysFile(paths.keys), Date.now());
}

/** The pool of the hub, as it said a moment ago. */
async function keysAtHub(flags: PlaceFlags): Promise<KnownKey[]> {
  return withDatabase(flags, async (database) => {
    const [row] = await database.rows<{ keys: unknown }>('SELECT keys FROM agentos.hub');
    const file = parseKeys(row?.keys);
    return knownKeys(file?.keys ?? [], file, Date.now());
  });
}
