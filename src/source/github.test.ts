import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseItemId } from '../core/ids.ts';
import type { Repository } from '../host/repository.ts';
import { createGitHubSource } from './github.ts';

const SELECT = { labels: [], milestone: null, assignee: null, query: null, limit: null };
const FACTS = { path: 'o/n', webUrl: '', defaultBranch: 'main', isArchived: false, canPush: null };

/** A source on a server that responds with these to each route. */
function sourceOf(responses: Record<string, unknown>) {
  const request = async (schema: z.ZodType, route: string): Promise<unknown> => schema.parse(responses[route] ?? []);
  const list = async (schema: z.ZodType, route: string): Promise<unknown> => request(z.array(schema), route);
  const repository = { location: 'github:o/n', facts: async () => FACTS, request, list };
  return createGitHubSource(repository as unknown as Repository, SELECT);
}

test('an issue needs a number, a title and a state; what is only shown may be left out', async () => {
  const id = parseItemId('7');
  const issue = { number: 7, title: 'Add', state: 'open' };
  const source = sourceOf({ 'GET issues/{number}': issue });
  expect(await source.look(id)).toEqual({ id: '7', title: 'Add', chars: 3, blockers: 0 });
  expect(await source.read(id)).toMatchObject({ title: 'Add', facts: { url: '', answeredBy: [] } });
  await expect(sourceOf({ 'GET issues/{number}': { ...issue, state: undefined } }).look(id)).rejects.toThrow('state');
});

test('pull requests without an address are still told apart', async () => {
  const head = { ref: 'agentos/7-add', repo: { full_name: 'o/n' } };
  const pulls = [1, 2].map((number) => ({ number, state: 'open', head }));
  const source = sourceOf({ 'GET issues/{number}': { number: 7, title: 'Add', state: 'open' }, 'GET pulls': pulls });
  const { facts } = await source.read(parseItemId('7'));
  expect(facts?.answeredBy.map(({ number }) => number)).toEqual([1, 2]);
});
