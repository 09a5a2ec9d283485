// Each folder of src/ imports only what the table in docs/architecture.md allows it to.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const table = new Map();
for (const line of readFileSync('docs/architecture.md', 'utf8').split('\n')) {
  const [, folder, , allowed] = line.split('|').map((cell) => cell.trim());
  const name = /^`(\w+)\/`$/.exec(folder ?? '')?.[1];
  if (name !== undefined)
    table.set(
      name,
      [...(allowed ?? '').matchAll(/`([\w./-]+)`/g)].map(([, path]) => path),
    );
}

const problems = [];
const used = new Set();
for (const entry of readdirSync('src', { recursive: true, withFileTypes: true })) {
  const file = relative('src', join(entry.parentPath, entry.name)).split(sep).join('/');
  const folder = file.split('/')[0];
  if (!entry.isFile() || !/\.tsx?$/.test(file) || !file.includes('/') || file.endsWith('.test.ts')) continue;
  const allowed = table.get(folder);
  if (allowed === undefined) problems.push(`src/${file}: docs/architecture.md has no row for ${folder}/`);
  for (const [, path] of readFileSync(join('src', file), 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
    const target = join(dirname(file), path).split(sep).join('/');
    if (target.startsWith(`${folder}/`) || allowed === undefined) continue;
    const by = allowed.find((one) => one === target || (one.endsWith('/') && target.startsWith(one)));
    if (by === undefined)
      problems.push(`src/${file} imports ${target}, which docs/architecture.md does not allow ${folder}/`);
    else used.add(`${folder} ${by}`);
  }
}
for (const [folder, allowed] of table) {
  for (const one of allowed) {
    if (!used.has(`${folder} ${one}`))
      problems.push(`docs/architecture.md allows ${folder}/ to import ${one}: nothing does`);
  }
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exit(problems.length === 0 ? 0 : 1);
