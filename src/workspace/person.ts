import { userInfo } from 'node:os';
import type { Git } from './git.ts';

/** Who decides here, as git would name them; else the user of the operating system. */
export async function personOf(git: Git): Promise<string> {
  const setting = (name: string): Promise<string> => git.text(['config', '--get', name]).catch(() => '');
  const [name, email] = [await setting('user.name'), await setting('user.email')];
  const named = [name, email === '' ? '' : `<${email}>`].filter((part) => part !== '').join(' ');
  return named === '' ? userName() : named;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number without a name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
