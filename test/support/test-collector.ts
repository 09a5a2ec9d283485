import { onTestFinished } from 'vitest';
import { type Collector, type CollectorMood, openCollector } from './collector.ts';

/** A collector for as long as the test. */
export async function testCollector(mood?: CollectorMood): Promise<Collector> {
  const collector = await openCollector(mood);
  onTestFinished(() => collector.close());
  return collector;
}
