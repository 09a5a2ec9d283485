import module from 'node:module';
import { compiledCodeFolder } from '../process/package-root.ts';

// Before anything else is loaded, so that all of it is read from there the next time.
const folder = compiledCodeFolder();
if (folder !== null) module.enableCompileCache(folder);
await import('./run.ts');
