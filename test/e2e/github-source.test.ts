import { expect, test } from 'vitest';
import { fakeGitHub } from '../support/hosts/github.ts';
import { ISSUE } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';

const SOURCE = ['--source', 'github:acme/widget'];

test('an issue of GitHub becomes an approved LLD', async () => {
  const repository = await testRepository({});
  const models = await scriptedModels(repository);
  const github = await fakeGitHub();
  github.issue({ number: 42, title: 'Add a number', body: ISSUE });
  const { code, stdout, stderr } = await agentos(['lld', '--all', ...SOURCE, ...models.flags], {
    cwd: repository.root,
    env: github.env,
  });
  expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: '' });
  expect(await repository.read('docs/lld/LLD-42.md')).toContain('status: approved');
});
