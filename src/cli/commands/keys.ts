import { localTime } from '../../core/duration.ts';
import { EXIT } from '../../core/exit-code.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { type KnownKey, knownKeys } from '../../run/keys-file.ts';
import { type PlaceFlags, projectOf } from '../request.ts';

export async function keysCommand(flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const { paths, config, mask } = await projectOf(flags);
  const keys = await knownKeys(paths, config.keys, Date.now());
  if (flags.json) {
    process.stdout.write(`${mask(JSON.stringify({ keys }, null, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  if (keys.length === 0) {
    terminal.line(
      'No keys. Set ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_API_KEY (…_KEYS for several, with commas).',
    );
    return EXIT.ok;
  }
  const width = Math.max(...keys.map((key) => key.id.length));
  for (const key of keys) {
    const style = key.state === 'dead' ? 'red' : key.state === 'cooling' ? 'yellow' : 'green';
    const state = paint(
      terminal,
      style,
      (key.until ? `${key.state} until ${localTime(key.until)}` : key.state).padEnd(10),
    );
    terminal.line(`${key.id.padEnd(width)}  ${key.vendor.padEnd(17)}  ${state}  ${printable(details(key))}`.trimEnd());
  }
  return EXIT.ok;
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
  const parts = [
    learned.join(', ') || 'no limits learned',
    ...(group ? [`quota ${group}`] : []),
    ...(reason ? [reason] : []),
  ];
  return `${parts.join('; ')} (seen ${localTime(seenAt)})`;
}
