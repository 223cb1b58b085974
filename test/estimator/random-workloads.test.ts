import { randomWorkloads } from './random-workloads.ts';

randomWorkloads(20_000);
