import { AppError } from '../../errors.ts';
import type { Tensor } from '../tape/storage.ts';
import { sizeOf } from './blocks.ts';

/** Networks that are built for one image size refuse others (timm's `strict_img_size`). */
export function requireSize(image: Tensor, name: string, side: number): void {
  const [height, width] = sizeOf(image);
  if (height === side && width === side) return;
  throw new AppError('unsupported-combination', `${name} is built for ${side}×${side} images`, {
    details: { rule: 'fixed-size', backbone: name, height, width, side },
  });
}
