import { EXIT } from '../../core/exit-code.ts';
import { claimsOf, isTrusted, rememberTrust, revokeTrust } from '../../run/trust.ts';
import { claimLines, type PlaceFlags, projectOf, saysYes } from '../request.ts';

/** Shows what a repository's files would run, redirect or hand over, and trusts it; on a terminal it asks first. */
export async function trustCommand(flags: PlaceFlags & { revoke?: boolean }): Promise<number | void> {
  const project = await projectOf(flags);
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  if (flags.revoke) {
    const file = await revokeTrust(project);
    say(file === null ? 'It was not trusted.' : `No longer trusted (${file}).`);
    return;
  }
  const claims = claimsOf(project);
  if (claims.length === 0) {
    say('Nothing in this repository needs your trust.');
    return;
  }
  say(claimLines(project, claims));
  if (await isTrusted(project, claims)) {
    say('You trust all of it already. To take that back: agentos trust --revoke');
    return;
  }
  if (process.stdin.isTTY && !(await saysYes('Trust it from now on? [y/N] '))) {
    say('Not trusted. Nothing was written.');
    return EXIT.failed;
  }
  say(`Trusted as it is now (${await rememberTrust(project, claims)}). Changes need your trust again.`);
}
