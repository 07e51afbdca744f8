/* The packed form of a matrix: so many rows lie side by side, column by column; see kmeans.c. */

#ifndef KP_PACKED_H
#define KP_PACKED_H

#define PACK_ROWS 32

#endif
