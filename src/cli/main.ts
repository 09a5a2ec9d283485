import { refuseOldNode } from './version.ts';

refuseOldNode();
// By itself, Node would open a debugger on loopback: every user of the machine could read our keys with it.
process.on('SIGUSR1', () => undefined);
const { compiledCodeFolder } = await import('../process/own-process.ts');
const { enableCompileCache } = await import('node:module');
// Before anything else is loaded, so that all of it is read from there the next time.
const folder = compiledCodeFolder();
if (folder !== null) enableCompileCache(folder);
await import('./run.ts');
