import { isAbsolute, join } from 'node:path';
import type { FileCoverage } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';
import { createLineCoverage } from './line-coverage.ts';
import { elementsNamed, parseXml } from './xml.ts';

/** The XML of coverage.py. Its file names are relative to one of the sources; null where it can't be read. */
export function parseCobertura(
  xml: string,
  pathInWorktree: PathInWorktree,
  isFile: (path: string) => boolean,
): FileCoverage[] | null {
  const root = parseXml(xml);
  if (root?.name !== 'coverage') return null;
  const sources = elementsNamed(root, 'source').map((element) => element.text.trim());
  const coverage = createLineCoverage(pathInWorktree);
  for (const element of elementsNamed(root, 'class')) {
    const { filename = '' } = element.attributes;
    const places = isAbsolute(filename) ? [filename] : sources.map((source) => join(source, filename));
    const file = places.find((place) => isFile(pathInWorktree(place) ?? '')) ?? filename;
    coverage.file(file);
    for (const line of elementsNamed(element, 'line'))
      coverage.add(file, Number(line.attributes.number), Number(line.attributes.hits) > 0);
  }
  return coverage.files();
}
