import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';

/** Why sandboxes can't be tested here; null: they can. */
export function whyNoSandbox(): string | null {
  if (process.platform !== 'linux') return `bubblewrap is for Linux, not ${process.platform}`;
  const trial = [
    '--unshare-user-try',
    '--unshare-pid',
    '--unshare-net',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    'true',
  ];
  const { error, status, stderr } = spawnSync('bwrap', trial, { encoding: 'utf8' });
  if (error !== undefined) return 'bubblewrap (bwrap) is not installed';
  return status === 0 ? null : `bubblewrap does not work here: ${stderr.trim()}`;
}

/** The PATH without a program, as a folder of links. */
export function pathWithout(program: string, folder: string): string {
  mkdirSync(folder);
  const seen = new Set([program]);
  for (const place of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of namesIn(place)) {
      if (!seen.has(name)) symlinkSync(join(place, name), join(folder, name));
      seen.add(name);
    }
  }
  return folder;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** An address of this machine that is not its loopback: what the internet is to a sandbox. Null: it has none. */
export function outerAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null;
}
