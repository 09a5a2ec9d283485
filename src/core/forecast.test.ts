import { expect, test } from 'vitest';
import { describeForecast, type ForecastDesign, forecastLines, forecastOf } from './forecast.ts';

function design(id: string, part: Partial<ForecastDesign> = {}): ForecastDesign {
  return { id, files: [], after: [], declares: [], adds: [], uses: [], ...part };
}
const NOTHING = { dependsOn: false, files: [], declarations: [], uses: [], usedBy: [] };

test('the same file, and the same declaration in it', () => {
  const all = forecastOf([
    design('1', { files: ['src/a.ts', 'src/b.ts'], declares: ['src/a.ts#parse', 'src/b.ts#print', '#read'] }),
    design('2', { files: ['src/a.ts', 'src/c.ts'], declares: ['src/a.ts#parse', 'src/c.ts#print', 'src/a.ts#read'] }),
    design('3', { files: ['src/d.ts'], declares: ['src/d.ts#parse'] }),
  ]);
  const declarations = ['parse in src/a.ts', 'read in src/a.ts'];
  expect(all.get('1')).toEqual([{ ...NOTHING, with: '2', files: ['src/a.ts'], declarations }]);
  expect(all.get('2')).toEqual([{ ...NOTHING, with: '1', files: ['src/a.ts'], declarations }]);
  expect(all.get('3')).toEqual([]);
});

test('a folder holds the files that another one names', () => {
  const all = forecastOf([design('1', { files: ['src'] }), design('2', { files: ['src/a.ts'] })]);
  expect(all.get('2')).toEqual([{ ...NOTHING, with: '1', files: ['src'] }]);
});

test('what one adds and another uses, on both sides; not what both add, nor a word of three letters', () => {
  const designs = [
    design('1', { adds: ['src/new.ts', 'src/new.ts#slugify', 'src/new.ts#run', 'src/new.ts#both'] }),
    design('2', { uses: ['src/new.ts', 'slugify', 'run', 'both', 'other'], adds: ['src/x.ts#both'] }),
    design('3', { uses: ['slugify'], after: ['1'] }),
  ];
  const all = forecastOf(designs);
  expect(all.get('2')).toEqual([{ ...NOTHING, with: '1', uses: ['src/new.ts', 'slugify'] }]);
  expect(all.get('1')).toEqual([
    { ...NOTHING, with: '2', usedBy: ['src/new.ts', 'slugify'] },
    { ...NOTHING, with: '3', usedBy: ['slugify'] },
  ]);
  expect(forecastLines(designs, all)).toEqual([
    '2 uses what 1 adds: src/new.ts, slugify. Its LLD does not say "Depends on: #1", so it is built without it.',
    '3 uses what 1 adds: slugify.',
  ]);
  expect(describeForecast(all.get('1') ?? [])).toBe(
    '- LLD-2: uses what this one adds: src/new.ts, slugify\n- LLD-3: uses what this one adds: slugify',
  );
});

test('thousands of designs that share a file are each told of a few of the others', () => {
  const designs = Array.from({ length: 2_000 }, (_, at) =>
    design(String(at), { files: ['src/a.ts', `src/${at}.ts`], declares: ['src/a.ts#parse'], uses: ['parse', 'print'] }),
  );
  const all = forecastOf(designs);
  expect(all.get('1999')?.length).toBeLessThanOrEqual(20);
  expect(all.get('1999')?.[0]?.declarations).toEqual(['parse in src/a.ts']);
});
