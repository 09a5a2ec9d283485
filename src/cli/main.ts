import { refuseOldNode } from './node-version.ts';

refuseOldNode();
await import('./start.ts');
