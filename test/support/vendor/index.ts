export type { Answer } from './answer.ts';
export type { VendorOptions } from './options.ts';
export type { Vendor } from './server.ts';
export { startVendor } from './server.ts';
