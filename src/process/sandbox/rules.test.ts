import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { createRules, type Rules } from './rules.ts';

let top = '';

beforeEach(async () => {
  top = await realpath(await testFolder());
  await mkdir(join(top, 'home', 'tools', 'bin'), { recursive: true });
  await mkdir(join(top, 'home', 'code', 'mine'), { recursive: true });
  await writeFile(join(top, 'home', 'tools', 'token'), 'x');
});

function settled(rules: Rules): [string, string][] {
  return rules.settled().map(({ path, access }) => [path.slice(top.length + 1), access]);
}

test('folders come before what is in them, and a rule that changes nothing is left out', () => {
  const rules = createRules();
  rules.show('write', join(top, 'home', 'code', 'mine'));
  rules.hide(join(top, 'home'), join(top, 'home', 'code'));
  rules.show('read', join(top, 'home', 'tools'), join(top, 'home', 'tools', 'bin'));
  rules.hide(join(top, 'home', 'tools', 'token'), join(top, 'nothing'));
  expect(settled(rules)).toEqual([
    ['home', 'hidden'],
    ['home/tools', 'read'],
    ['home/code/mine', 'write'],
    ['home/tools/token', 'hidden'],
  ]);
});

test('of two rules for one path the later one counts, and a copy goes its own way', () => {
  const rules = createRules();
  rules.hide(join(top, 'home'));
  const copy = createRules(rules.all());
  copy.show('write', join(top, 'home'));
  expect([settled(rules), settled(copy)]).toEqual([[['home', 'hidden']], [['home', 'write']]]);
});

test('a link in a hidden place is shown by its own name and by that of what it leads to', async () => {
  await symlink(join(top, 'home', 'tools'), join(top, 'home', 'current'));
  const rules = createRules();
  rules.hide(join(top, 'home'));
  rules.show('read', join(top, 'home', 'current'));
  rules.hide(join(top, 'home', 'tools', 'token'));
  expect(settled(rules)).toEqual([
    ['home', 'hidden'],
    ['home/tools', 'read'],
    ['home/current', 'read'],
    ['home/tools/token', 'hidden'],
    // What is hidden in it is hidden under both names.
    ['home/current/token', 'hidden'],
  ]);
});

test('a link in a folder that is shown is the link that it is', async () => {
  await symlink(join(top, 'home', 'tools', 'token'), join(top, 'home', 'tools', 'link'));
  const rules = createRules();
  rules.hide(join(top, 'home'));
  rules.show('read', join(top, 'home', 'tools', 'link'), join(top, 'home', 'tools'));
  expect(settled(rules)).toEqual([
    ['home', 'hidden'],
    ['home/tools', 'read'],
  ]);
});

test('a link outside of hidden places stands for what it leads to', async () => {
  await symlink(join(top, 'home'), join(top, 'alias'));
  const rules = createRules();
  rules.hide(join(top, 'alias'));
  rules.show('read', join(top, 'alias', 'tools'));
  expect(settled(rules)).toEqual([
    ['home', 'hidden'],
    ['home/tools', 'read'],
  ]);
  expect(rules.isHidden(join(top, 'alias', 'code'))).toBe(true);
  expect(rules.isHidden(join(top, 'alias', 'tools', 'bin'))).toBe(false);
});

test('a place is protected with all that holds it, and nothing that it holds', () => {
  const rules = createRules();
  rules.hide(join(top, 'home', 'code'));
  const places = [top, join(top, 'home'), join(top, 'home', 'code'), join(top, 'home', 'code', 'mine')];
  expect(places.map((path) => rules.isProtected(path))).toEqual([true, true, true, false]);
  expect(places.map((path) => rules.isPlace(path))).toEqual([false, false, true, false]);
});

test('nothing can hide the whole machine', () => {
  const rules = createRules();
  rules.hide('/');
  rules.empty('relative', '');
  expect(rules.settled()).toEqual([]);
});
