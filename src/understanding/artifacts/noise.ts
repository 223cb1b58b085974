import { type Reading, take } from '../reading.ts';

/** Figures of program output and of links that say nothing about a workload: places in files, process ids, versions, times. */
const NOISE: readonly RegExp[] = [
  /https?:\/\/[^\s<>"']{1,500}/g,
  /file "[^"\n]{1,300}", line \d+(?:, in [^\n]{1,80})?/g,
  /\b(?:pid|process|thread|rank|job|port|issue|pr|line|build|seed|driver version|cuda version|nvidia-smi) ?[:=#]? ?\d+(?:\.\d+){0,3}\b(?! ?(?:has|mib|gib))/g,
  /\b(?:torch|pytorch|cuda|cudnn|python|mmcv(?:-full)?|mmseg(?:mentation)?|mmengine|mmdet|transformers|numpy|timm|ubuntu|driver|paddle(?:paddle)?|tensorflow|tf|keras|windows|cu)(?:[-= ]{0,2}v?|==)\d{1,4}(?:\.\d{1,3}){1,3}(?:\+cu\d{2,3})?/g,
  /\b\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?/g,
  // addresses; "0x512" is a picture without height
  /\b0x(?!\d{1,4}\b)[0-9a-f]{2,16}\b|\b[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d\b/g,
  /\b(?:lr|learning[_ ]rate|weight[_ ]decay|momentum|num[_ ]workers?|workers[_ ]per[_ ]gpu|workers?|persistent_workers|prefetch_factor|warmup(?:_iters)?|patience|dropout|alpha|gamma|ignore_index|seed)["']? ?[:=]? ?\d+(?:\.\d+)?(?:e-?\d+)?/g,
];

/** Takes away figures that no rule should read; the words around them stay. */
export function eraseNoise(reading: Reading): void {
  for (const pattern of NOISE) take(reading, pattern);
}
