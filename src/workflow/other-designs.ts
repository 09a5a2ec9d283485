import { describeForecast, type ForecastDesign, forecastOf } from '../core/forecast.ts';
import { isItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { isApproved, readHeader } from '../documents/header.ts';
import { type DesignFacts, designFacts } from '../documents/lld/document.ts';
import { namesInside } from '../process/text-file.ts';
import { tagged } from '../prompts/tags.ts';
import { readLldText } from './approved-lld.ts';
import { createDesignCache } from './design-cache.ts';

/** Of a longer backlog, those with the highest numbers. */
const MOST_DESIGNS = 200;
const { compare: byNumber } = new Intl.Collator('en', { numeric: true });

/**
 * The other designs that are approved and whose code is not in the base yet. What is read is stored with the item's beginning:
 * designs come and go, and a resumed item has to ask the same questions.
 */
export async function otherDesigns(
  paths: Paths,
  ownId: string,
  isThere: (path: string) => boolean,
): Promise<ForecastDesign[]> {
  const ids = namesInside(paths.llds, paths.repository).flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) && id !== ownId && !isThere(paths.report(id)) ? [id] : [];
  });
  const cache = createDesignCache(paths.designs);
  const designs: ForecastDesign[] = [];
  for (const id of ids.sort(byNumber).slice(-MOST_DESIGNS)) {
    const text = readLldText(paths.lld(id)) ?? '';
    if (isApproved(readHeader(text))) designs.push(asForecast(id, await cache.factsOf(text)));
  }
  return designs;
}

function asForecast(id: string, { files, after, declares, adds, uses }: DesignFacts): ForecastDesign {
  return { id, files, after, declares, adds, uses };
}

const FORECAST = `Other designs are approved and not built yet. Those that touch the same code, by what the designs say:`;
const JUDGE_IT =
  'Raise a finding only where both can not stand, where one does again what the other does, or where the order matters and "Depends on" does not say it.';

/** For a reviewer; empty where no other design touches this one. */
export function forecastFor(id: string, lld: string, others: readonly ForecastDesign[]): string {
  const own = asForecast(id, designFacts(lld));
  const found = others.length === 0 ? [] : (forecastOf([own, ...others]).get(id) ?? []);
  return found.length === 0 ? '' : tagged('other-designs', `${FORECAST}\n\n${describeForecast(found)}\n\n${JUDGE_IT}`);
}
