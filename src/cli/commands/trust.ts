import { createInterface } from 'node:readline/promises';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { printable } from '../../output/terminal.ts';
import type { Project } from '../../run/project.ts';
import { type Claim, claimsOf, claimText, isTrusted, rememberTrust, revokeTrust } from '../../run/trust.ts';
import { type PlaceFlags, projectOf } from '../place.ts';

/** Shows what a repository's files would run, redirect or hand over, and trusts it; on a terminal it asks first. */
export async function trustCommand(flags: PlaceFlags & { revoke?: boolean }): Promise<number> {
  const project = await projectOf(flags);
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  if (flags.revoke) {
    const file = await revokeTrust(project);
    say(file === null ? 'It was not trusted.' : `No longer trusted (${file}).`);
    return EXIT.ok;
  }
  const claims = claimsOf(project);
  if (claims.length === 0) {
    say('Nothing in this repository needs your trust.');
    return EXIT.ok;
  }
  say(claimLines(project, claims));
  if (await isTrusted(project, claims)) {
    say('You trust all of it already. To take that back: agentos trust --revoke');
    return EXIT.ok;
  }
  if (process.stdin.isTTY && !(await saysYes('Trust it from now on? [y/N] '))) {
    say('Not trusted. Nothing was written.');
    return EXIT.failed;
  }
  say(`Trusted as it is now (${await rememberTrust(project, claims)}). Changes need your trust again.`);
  return EXIT.ok;
}

/** Throws if the repository's settings are not trusted; on a terminal it asks for trust first. */
export async function requireTrust(project: Project, isTrustedOnce: boolean): Promise<void> {
  if (isTrustedOnce) {
    project.hosts.requireTrust = async () => undefined;
    return;
  }
  const claims = claimsOf(project);
  if (await isTrusted(project, claims)) return;
  if (process.stdin.isTTY && process.stderr.isTTY) {
    process.stderr.write(`${claimLines(project, claims)}\n`);
    if (await saysYes('Trust these settings of this repository from now on? [y/N] ')) {
      await rememberTrust(project, claims);
      return;
    }
  }
  const command = ['agentos trust', ...project.placeFlags].join(' ');
  throw new AgentosError({ code: 'untrusted', claims: claims.map(claimText), command });
}

function claimLines({ paths }: Project, claims: readonly Claim[]): string {
  return [`${printable(paths.repository)} asks for this:`, ...claims.map((claim) => `  ${claimText(claim)}`)].join(
    '\n',
  );
}

export async function saysYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await lines.question(question));
  } finally {
    lines.close();
  }
}
