// Private to this folder, and included before any other Boost header: Asio and Beast are compiled once, in
// asio_src.cpp, and everything else sees declarations only.
#pragma once

#define BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_BEAST_SEPARATE_COMPILATION
#ifdef __SANITIZE_THREAD__
#define BOOST_ASIO_DISABLE_FENCED_BLOCK  // the sanitizer does not understand fences; Asio's mutexes suffice
#endif

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace ctrlplane::net {

namespace asio = boost::asio;
// Sockets with the concrete executor: the type-erased default costs a virtual call and much compile time.
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;

}  // namespace ctrlplane::net
