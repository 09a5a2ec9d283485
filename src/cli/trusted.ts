import { createInterface } from 'node:readline/promises';
import { AgentosError } from '../core/errors.ts';
import { printable } from '../output/terminal.ts';
import type { Project } from '../run/project.ts';
import { type Claim, claimsOf, claimText, isTrusted, rememberTrust } from '../run/trust.ts';
import { type PlaceFlags, placeFlagsOf } from './request.ts';

/** Stops at settings of a repository that are not trusted yet; on a terminal it asks for trust. */
export async function requireTrust(project: Project, place: PlaceFlags & { trust?: boolean }): Promise<void> {
  if (place.trust) {
    project.hosts.requireTrust = async () => undefined;
    return;
  }
  const claims = claimsOf(project);
  if (await isTrusted(project, claims)) return;
  if (process.stdin.isTTY && process.stderr.isTTY) {
    process.stderr.write(`${claimLines(project, claims).join('\n')}\n`);
    if (await saysYes('Trust these settings of this repository from now on? [y/N] ')) {
      await rememberTrust(project, claims);
      return;
    }
  }
  const command = ['agentos trust', ...placeFlagsOf(place)].join(' ');
  throw new AgentosError({ code: 'untrusted', claims: claims.map(claimText), command });
}

/** What exactly is asked for. */
export function claimLines({ paths }: Project, claims: readonly Claim[]): string[] {
  return [`${printable(paths.repository)} asks for this:`, ...claims.map((claim) => `  ${claimText(claim)}`)];
}

export async function saysYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await lines.question(question));
  } finally {
    lines.close();
  }
}
