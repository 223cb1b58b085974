/** Host memory ran out, not the card's: the kernel's killer, shared memory of loader workers, numpy and plain malloc. */
const HOST =
  /dataloader worker \(pid[^)\n]{0,24}\) (?:is killed|exited)|killed by signal: (?:killed|bus error)|\bbus error\b|oom[- ]?kill|out of memory: killed process|insufficient shared memory|unable to (?:mmap|open shared memory)|\/dev\/shm|\bshm\b[^\n]{0,30}(?:full|insufficient|too small|不足|不够)|cannot allocate memory|std::bad_alloc|numpy\.core\._exceptions\.(?:_array)?memoryerror|unable to allocate [\d.]+ ?[kmgt]i?b for an array|\bmemoryerror\b|exit(?:ed with)? code:? ?(?:137|-9)\b|(?:^|\n)\s*killed\s*(?:$|\n)|defaultcpuallocator|cpuallocator: not enough memory/;
const HOST_WORDS =
  /(?:主机|系统|物理|服务器|机器)内存\s?(?:不够|不足|爆|满|溢出|打满)|内存(?:被)?(?:打满|爆了|爆满|占满|溢出)|\b(?:host|system|cpu) (?:ram|memory) (?:is )?(?:full|exhausted|runs? out|ran out)|进程被(?:kill|杀)|killed$/;
const CARD = /cuda out of memory|outofmemoryerror|显存|vram|gpu memory/;

/** The rest of its sentence holds figures of arrays and processes. */
export const HOST_LINES =
  /(?:unable to allocate|out of memory: killed|killed process|oom[- ]?kill|dataloader worker|bus error|cannot allocate memory|defaultcpuallocator)(?:[^\n.;]|[.;](?=\S)){0,300}/g;

/** A pasted failure of host memory. */
export function isHostOom(text: string): boolean {
  return HOST.test(text) && !/cuda out of memory|outofmemoryerror: cuda/.test(text);
}

/** Host memory told in words. */
export function tellsHostOom(text: string): boolean {
  return HOST_WORDS.test(text) && !CARD.test(text);
}
