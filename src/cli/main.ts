import { refuseOldNode } from './version.ts';

refuseOldNode();
const { compiledCodeFolder } = await import('../process/package-root.ts');
const { enableCompileCache } = await import('node:module');
// Before anything else is loaded, so that all of it is read from there the next time.
const folder = compiledCodeFolder();
if (folder !== null) enableCompileCache(folder);
await import('./run.ts');
