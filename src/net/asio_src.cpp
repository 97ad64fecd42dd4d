#include "net/asio.h"

#include <boost/asio/impl/src.hpp>
