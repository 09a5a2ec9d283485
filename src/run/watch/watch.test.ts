import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { pathsOf } from '../../core/paths.ts';
import type { Project } from '../project.ts';
import { watchMark } from './watch.ts';

/** Who is polled, with issues from a repository that is named or that of `origin`. */
async function polled(source: string | null, origin: string | null): Promise<string[]> {
  const folder = await testFolder();
  const asked: string[] = [];
  const place = (name: string, location: string | null) => ({
    location,
    poll: async () => `${asked.push(name)}`,
  });
  const forge = place('forge', 'github:acme/widget');
  const project = {
    paths: pathsOf(folder, join(folder, '.agentos')),
    git: { text: async () => '' },
    configFile: null,
    source: place('source', source),
    config: { remote: { pr: { open: true }, source: source && { host: 'github', path: null } } },
    hosts: { forge: async () => forge, tracker: async () => ({ location: origin }) },
  };
  await watchMark(project as unknown as Project);
  return asked;
}

test('issues and pull requests of one repository are one request, also if its name is that of origin', async () => {
  expect(await polled('github:acme/widget', 'github:acme/widget')).toEqual(['forge']);
  expect(await polled('github', 'github:acme/widget')).toEqual(['forge']);
  expect(await polled('github:acme/planning', 'github:acme/planning')).toEqual(['source', 'forge']);
  // Without a service for issues, comments go to where the branches go.
  expect(await polled(null, 'github:acme/widget')).toEqual(['source', 'forge']);
});
