// Fewer and larger files. A bundler that splits cuts a file for every set of lazy imports that shares some code: a command
// would load sixty, and Node needs a millisecond for each. Here, what is always loaded together becomes one file again.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { build } from 'esbuild';

/**
 * Writes what a split build has left in memory. `starts` are the source files that programs start with, or that they import lazily but
 * nearly always. What one of them needs is in its file, what the same several need is in one file for these, and all other
 * lazy imports stay as they are. Returns the paths of the files.
 */
export async function writeMerged({ metafile, outputFiles }, { root, starts, options }) {
  const chunks = Object.entries(metafile.outputs);
  const pathOf = (source) => chunks.find(([, { entryPoint }]) => entryPoint === source)[0];
  const groups = groupsOf(metafile.outputs, starts.map(pathOf));
  const groupOf = new Map([...groups].flatMap(([file, members]) => members.map((chunk) => [chunk, file])));
  const texts = new Map(outputFiles.map(({ path, text }) => [relative(root, path), text]));
  const names = new Map(
    chunks.map(([chunk, { exports }], index) => [chunk, exports.map((name) => [name, `c${index}_${name}`])]),
  );
  const used = usedElsewhere(chunks, groupOf);
  /** As another file imports it. */
  const fromOutside = (chunk, file) => {
    const list = names.get(chunk).map(([name, unique]) => `${groupOf.get(chunk) === chunk ? name : unique} as ${name}`);
    return `export { ${list.join(', ')} } from '${between(file, groupOf.get(chunk))}';`;
  };
  const merged = (file) => ({
    name: 'merged',
    setup(bundler) {
      bundler.onResolve({ filter: /.*/ }, ({ path, kind, importer, namespace }) => {
        if (kind === 'entry-point') return { path, namespace: 'merged' };
        if (namespace === 'elsewhere') return { path, external: true };
        const chunk = namespace === 'merged' ? path : posix.join(dirname(importer), path);
        if (!groupOf.has(chunk)) return { path, external: true };
        if (kind === 'dynamic-import') return { path: between(file, chunk), external: true };
        return { path: chunk, namespace: groupOf.get(chunk) === file ? 'chunk' : 'elsewhere' };
      });
      bundler.onLoad({ filter: /.*/, namespace: 'chunk' }, ({ path }) => ({ contents: texts.get(path) }));
      bundler.onLoad({ filter: /.*/, namespace: 'elsewhere' }, ({ path }) => ({ contents: fromOutside(path, file) }));
      bundler.onLoad({ filter: /.*/, namespace: 'merged' }, () => ({
        contents: groups
          .get(file)
          .filter((chunk) => chunk === file || used.has(chunk))
          .map((chunk) => {
            const list = names.get(chunk).map(([name, unique]) => (chunk === file ? name : `${name} as ${unique}`));
            return `export { ${list.join(', ')} } from '${chunk}';`;
          })
          .join('\n'),
      }));
    },
  });
  const single = { ...options, splitting: false, metafile: false, outdir: undefined };
  await Promise.all(
    [...groups.keys()].map((file) => build({ ...single, outfile: file, entryPoints: [file], plugins: [merged(file)] })),
  );
  const facades = chunks.filter(([chunk, { entryPoint }]) => entryPoint !== undefined && groupOf.get(chunk) !== chunk);
  for (const [chunk] of facades) writeFileSync(join(root, chunk), fromOutside(chunk, chunk));
  return [...groups.keys()];
}

/** The chunks of each file that is written. */
function groupsOf(outputs, starts) {
  const closures = starts.map((start) => [start, closureOf(outputs, start)]);
  const groups = new Map();
  for (const chunk of Object.keys(outputs)) {
    const needing = closures.filter(([, closure]) => closure.has(chunk)).map(([start]) => start);
    const file = needing.length > 1 ? `dist/chunks/shared-${hashOf(needing)}.js` : (needing[0] ?? chunk);
    groups.set(file, [...(groups.get(file) ?? []), chunk]);
  }
  return groups;
}

const hashOf = (starts) => createHash('sha256').update(starts.join()).digest('hex').slice(0, 8).toUpperCase();

function closureOf(outputs, start) {
  const seen = new Set([start]);
  for (const chunk of seen)
    for (const { path, kind } of outputs[chunk].imports)
      if (kind === 'import-statement' && path in outputs) seen.add(path);
  return seen;
}

/** Chunks that another file than their own imports from. */
function usedElsewhere(chunks, groupOf) {
  const used = new Set(chunks.filter(([, { entryPoint }]) => entryPoint !== undefined).map(([chunk]) => chunk));
  for (const [chunk, { imports }] of chunks)
    for (const { path } of imports) if (groupOf.has(path) && groupOf.get(path) !== groupOf.get(chunk)) used.add(path);
  return used;
}

function between(file, other) {
  const path = posix.relative(dirname(file), other);
  return path.startsWith('.') ? path : `./${path}`;
}
