import { EXIT } from '../../core/exit-code.ts';
import { claimsOf, isTrusted, rememberTrust, revokeTrust } from '../../run/trust.ts';
import { type PlaceFlags, projectOf } from '../request.ts';
import { claimLines, saysYes } from '../trusted.ts';

/** Shows what a repository's files would run, redirect or hand over. To call it is to say yes; a terminal asks first. */
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
  for (const line of claimLines(project, claims)) say(line);
  if (await isTrusted(project, claims)) {
    say('All of it is trusted already. agentos trust --revoke takes that back.');
    return EXIT.ok;
  }
  if (process.stdin.isTTY && !(await saysYes('Trust it from now on? [y/N] '))) {
    say('Not trusted. Nothing was written.');
    return EXIT.failed;
  }
  say(`Trusted as it is now (${await rememberTrust(project, claims)}). What changes later is asked for again.`);
  return EXIT.ok;
}
