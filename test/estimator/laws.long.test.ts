import { lawsOfMemory } from './laws.ts';

lawsOfMemory(5_000);
