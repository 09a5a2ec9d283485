import { expect, test } from 'vitest';
import { checkLld } from '../../governance/lld/checks.ts';
import { reviseDraft } from '../../governance/lld/revision.ts';
import type { IssueMaterial, Material } from '../../governance/material.ts';
import type { ModelReply } from '../port.ts';
import { createOfflineProvider } from './provider.ts';

const issue: IssueMaterial = { id: '42', title: 'Remember the last tea', body: '- it keeps the tea', hash: 'any' };
const draftMaterial: Material = { task: 'draft', issue, paths: ['src/index.js'] };

function complete(material: Material, signal = new AbortController().signal): Promise<ModelReply> {
  return createOfflineProvider().complete({
    role: 'drafter',
    system: '',
    parts: [],
    material,
    stepId: 'draft#1',
    signal,
  });
}

test('it is no model, costs nothing and answers the same every time', async () => {
  const { spec, isModel } = createOfflineProvider();
  expect({ spec, isModel }).toEqual({ spec: 'offline', isModel: false });
  const reply = await complete(draftMaterial);
  expect(reply).toMatchObject({ asked: 'offline', answered: 'offline', substituted: false, metered: true });
  expect(Object.values(reply.usage)).toEqual([0, 0, 0, 0]);
  expect(await complete(draftMaterial)).toEqual(reply);
});

test('a call that was cancelled before it began fails with the reason', async () => {
  const reason = new Error('stopped');
  await expect(complete(draftMaterial, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('a repair fills in what is missing and keeps every line that is there', async () => {
  const { text: whole } = await complete(draftMaterial);
  const own = whole
    .replace('A scaffold:', 'My own words:')
    .replace(/^## 8\.[\s\S]*(?=^## 9\.)/m, '')
    .replace(/^## 1\.[\s\S]*(?=^## 2\.)/m, '');
  expect(checkLld(own).findings.map(({ rule }) => rule)).toContain('section-missing');

  const { text } = await complete({ task: 'repair', issue, draft: own, round: 1 });
  const repaired = reviseDraft(own, text, { named: null });
  expect(repaired.ok && checkLld(repaired.text, { issueId: '42' }).findings).toEqual([]);
  expect(repaired.ok && repaired.text).toContain('My own words:');
});

test('what rules can not settle is left as it is', async () => {
  const { text: draft } = await complete(draftMaterial);
  const { text } = await complete({ task: 'revise', issue, draft, round: 1 });
  expect(reviseDraft(draft, text, { named: [] })).toEqual({ ok: true, text: draft, changed: false });
});
