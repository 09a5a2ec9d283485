import { userInfo } from 'node:os';
import type { Git } from './git.ts';

/** Who decides here, as git would name the author of a commit; else the user of the operating system. */
export async function personOf(git: Git): Promise<string> {
  // Each with the other one given, because git names nobody of whom it knows only half.
  const name = (await authorOf(git, 'user.email=x'))?.name ?? '';
  const email = (await authorOf(git, 'user.name=x'))?.email ?? '';
  const named = [name, email === '' ? '' : `<${email}>`].filter((part) => part !== '').join(' ');
  return named === '' ? userName() : named;
}

/** From the environment or the settings, never guessed from the machine's name. */
async function authorOf(git: Git, given: string): Promise<{ name: string; email: string } | null> {
  const ident = await git
    .text(['-c', 'user.useConfigOnly=true', '-c', given, 'var', 'GIT_AUTHOR_IDENT'])
    .catch(() => '');
  const [, name, email] = /^(.*?) ?<([^>]*)> \d+ [-+]\d+$/.exec(ident) ?? [];
  return name === undefined || email === undefined ? null : { name, email };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number without a name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
