import { randomWorkloads } from './random-workloads.ts';

randomWorkloads(1_000_000);
