// The program is shipped as a bundle, so the licences of what is inside it are shipped with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function licencesOf(metafile, root) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) folders.add(match[1]);
  }
  return [...folders]
    .sort((a, b) => a.localeCompare(b))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
      const path = file && join(root, folder, file);
      const text = path && existsSync(path) ? readFileSync(path, 'utf8').trim() : '(no licence file in the package)';
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
